# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A browser without a screen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import PATIENCE
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
def opened(profile: Path) -> Iterator[Any]:
    """A browser with a new profile and a window of 900 x 600 pixels."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for switch in (*SWITCHES, f'--user-data-dir={profile}', '--window-size=900,600'):
        options.add_argument(switch)
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    browser.set_page_load_timeout(PATIENCE)
    browser.set_script_timeout(PATIENCE)
    try:
        yield browser
    finally:
        browser.quit()


def text_of(browser: Any) -> str:
    return str(browser.find_element(By.TAG_NAME, 'body').text)
