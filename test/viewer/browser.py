# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A browser without a screen, and where things of a scene lie on its page."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

BROWSER = shutil.which('chromium') or shutil.which('google-chrome')
DRIVER = shutil.which('chromedriver')
LACKS = 'needs chromium and chromedriver (Debian: chromium-driver)'

SWITCHES = (
    *('--headless=new', '--no-sandbox', '--disable-quic', '--no-first-run', '--disable-sync'),
    *('--disable-background-networking', '--disable-component-update'),
    # No graphics card is needed.
    *('--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'),
)


@contextmanager
def opened(profile: Path, size: tuple[int, int] = (900, 600)) -> Iterator[Any]:
    """A browser with a window of a size [pixels]; its profile is a new one."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    own = (f'--user-data-dir={profile}', '--window-size={},{}'.format(*size))
    for switch in (*SWITCHES, *own):
        options.add_argument(switch)
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield browser
    finally:
        browser.quit()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]


def text_of(browser: Any) -> str:
    return str(browser.find_element(By.TAG_NAME, 'body').text)


def covered(browser: Any, pixel: np.ndarray) -> bool:
    """Whether something other than the picture is at a pixel (2) of the page: a panel, a notice."""
    there = browser.execute_script(
        'const it = document.elementFromPoint(arguments[0], arguments[1]);'
        'return it === null ? "" : it.tagName',
        *map(float, pixel),
    )
    return there != 'CANVAS'


class Camera:
    """A pinhole that looks at a scene, as the page has told where it is.

    Attributes:
        position: (3) [m].
        R: (3, 3), columns right, down and forward.
    """

    def __init__(self, browser: Any, camera: Any) -> None:
        """Take what viser knows of a client's camera.

        Args:
            browser: with the page.
            camera: of a ``viser.ClientHandle``.
        """
        self.position = np.array(camera.position)
        w, x, y, z = camera.wxyz
        self.R = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        left, top, width, height = browser.execute_script(
            'const box = document.querySelector("canvas").getBoundingClientRect();'
            'return [box.left, box.top, box.width, box.height]'
        )
        self._center = np.array([left + 0.5 * width, top + 0.5 * height])
        self._focal = 0.5 * height / np.tan(0.5 * camera.fov)

    def pixel(self, point: np.ndarray) -> np.ndarray:
        """Where a point (3) is on the page (2)."""
        right, down, forward = self.R.T @ (point - self.position)
        return self._center + self._focal * np.array([right, down]) / forward

    def first(self, point: np.ndarray, triangles: np.ndarray) -> int:
        """The first of triangles (n, 3, 3) on the ray through a point; -1 where there is none."""
        ray = (point - self.position) / np.linalg.norm(point - self.position)
        a, ab, ac = triangles[:, 0], *(triangles[:, k] - triangles[:, 0] for k in (1, 2))
        normal = np.cross(ray, ac)
        volume = (ab * normal).sum(axis=1)
        flat = np.abs(volume) < 1e-15
        volume[flat] = 1.0
        away = self.position - a
        u = (away * normal).sum(axis=1) / volume
        across = np.cross(away, ab)
        v = across @ ray / volume
        distance = (ac * across).sum(axis=1) / volume
        distance[flat | (u < 0.0) | (v < 0.0) | (u + v > 1.0) | (distance < 0.0)] = np.inf
        return int(distance.argmin()) if np.isfinite(distance.min()) else -1
