"""The state of the GPU, asked of the driver's management library: clocks, temperature, power, throttling, company."""

from __future__ import annotations

import os

import pynvml

from attnkern.errors import FailedError
from attnkern.timing.measurement import DeviceState

# nvml.h, nvmlClocksEventReason*: those that make a measurement another one. The idle state and a clock
# that somebody fixed on purpose are none.
THROTTLES = {
    0x04: "power-cap",
    0x08: "hardware-slowdown",
    0x20: "thermal-software",
    0x40: "thermal-hardware",
    0x80: "power-brake",
}


class Gpu:
    """The first GPU that this process may see."""

    def __init__(self) -> None:
        try:
            pynvml.nvmlInit()
            self.handle = pynvml.nvmlDeviceGetHandleByIndex(first_visible())
        except pynvml.NVMLError as error:
            raise FailedError(f"no GPU here ({error}): `attnkern profile` needs none, timing does") from error
        self.company = len(self.processes())  # before this process has a context of its own

    def processes(self) -> list[int]:
        return [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(self.handle)]

    def state(self, own_context: bool) -> DeviceState:
        """`own_context`: whether this process is among those on the GPU; its number may be another in a container."""
        others = len(self.processes()) - int(own_context)
        return DeviceState(
            sm_clock_mhz=self.sm_clock_mhz(),
            memory_clock_mhz=pynvml.nvmlDeviceGetClockInfo(self.handle, pynvml.NVML_CLOCK_MEM),
            temperature_c=pynvml.nvmlDeviceGetTemperature(self.handle, pynvml.NVML_TEMPERATURE_GPU),
            power_w=pynvml.nvmlDeviceGetPowerUsage(self.handle) / 1e3,
            throttle=self.throttle(),
            other_processes=max(0, others),
        )

    def sm_clock_mhz(self) -> int:
        return int(pynvml.nvmlDeviceGetClockInfo(self.handle, pynvml.NVML_CLOCK_SM))

    def throttle(self) -> list[str]:
        mask = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(self.handle)
        return [name for bit, name in THROTTLES.items() if mask & bit]

    def facts(self) -> dict[str, str]:
        return {
            "gpu": str(pynvml.nvmlDeviceGetName(self.handle)),
            "driver": str(pynvml.nvmlSystemGetDriverVersion()),
            "max_sm_clock_mhz": str(pynvml.nvmlDeviceGetMaxClockInfo(self.handle, pynvml.NVML_CLOCK_SM)),
        }


def first_visible() -> int:
    """The index of the GPU that torch calls cuda:0."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    return int(visible) if visible.isdigit() else 0
