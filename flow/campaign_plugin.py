"""`pytest -p flow.campaign_plugin`: record every test in the file that JD_RECORD names."""

from flow.campaign import Recorder

pytest_runtest_logreport = Recorder().pytest_runtest_logreport
