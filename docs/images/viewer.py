# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Draws viewer.png: the page of dynamics_ros_viewer while the simulated arm is pushed.

Run by scripts/images; needs chromium and chromedriver. The nodes run as in the tests.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Vector3, Wrench
from ros_harness import client, running
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from dynamics_ros_msgs.srv import ApplyWrench

HERE = Path(__file__).parent
DOMAIN, PORT = 69, 8069
NODES = ('kinematics_node', 'dynamics_node', 'contact_node')
PATIENCE = 300.0
"""Seconds; drawing without a graphics card takes some of them."""

SWITCHES = (
    *('--headless=new', '--no-sandbox', '--no-first-run', '--window-size=1400,800'),
    *('--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'),
)
CLOSE_NOTE = (
    'document.querySelectorAll(".mantine-Notification-closeButton").forEach(b => b.click())'
)


def main() -> None:
    """Draw it."""
    options = webdriver.ChromeOptions()
    for switch in (*SWITCHES, f'--user-data-dir={tempfile.mkdtemp()}'):
        options.add_argument(switch)
    with (
        running('robot_simulator', DOMAIN),
        running('dynamics_ros', DOMAIN),
        running('dynamics_ros_viewer', DOMAIN, {'port': PORT}) as viewer,
        client(DOMAIN) as ros,
    ):
        ros.wait_for(lambda: 'the page is at' in viewer.printed, patience=PATIENCE)
        # Before the page takes a whole processor, as it does where there is no graphics card.
        ros.wait_for(
            lambda: all(ros.status(node).message.startswith('publishing') for node in NODES),
            patience=PATIENCE,
        )
        browser = webdriver.Chrome(options=options, service=Service(shutil.which('chromedriver')))
        try:
            browser.get(f'http://localhost:{PORT}')

            def told() -> str:
                return str(browser.find_element(By.TAG_NAME, 'body').text)

            ros.wait_for(lambda: 'base_link' in told(), period=0.5, patience=PATIENCE)
            browser.execute_script(CLOSE_NOTE)
            # Some pictures later the shapes are there; a busy machine may not draw one in time.
            for _ in range(5):
                with suppress(TimeoutException):
                    browser.get_screenshot_as_png()
            push = ApplyWrench.Request(frame='tool0', duration=Duration(sec=60))
            push.wrench = Wrench(force=Vector3(y=8.0, z=-15.0))
            ros.call(ApplyWrench, '/robot_simulator/apply_wrench', push)
            ros.wait_for(lambda: 'contact at' in told(), period=0.5, patience=PATIENCE)
            browser.save_screenshot(str(HERE / 'viewer.png'))
        finally:
            browser.quit()


if __name__ == '__main__':
    main()
