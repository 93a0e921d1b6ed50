# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""For programs that launch kernels of the simulated GPU: its libraries, and a kernel of 20 us."""

import ctypes

cudart = ctypes.CDLL("libcudart.so.13")
driver = ctypes.CDLL("libcuda.so.1")
driver.sim_kernel.restype = ctypes.c_void_p
driver.sim_kernel.argtypes = [ctypes.c_char_p]
cudart.cudaLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 6 + [ctypes.c_void_p, ctypes.c_size_t,
                                                                            ctypes.c_void_p]
KERNEL = driver.sim_kernel(b"step_20us")
