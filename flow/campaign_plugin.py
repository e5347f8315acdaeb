"""`pytest -p flow.campaign_plugin`: record every test in the file that JD_RECORD names."""

from flow.campaign import Recorder

_recorder = Recorder()
pytest_runtest_makereport = _recorder.pytest_runtest_makereport
pytest_runtest_logreport = _recorder.pytest_runtest_logreport
