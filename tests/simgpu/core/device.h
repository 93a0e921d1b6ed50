/*
 * device.h: the simulated device's attributes, by the driver's attribute numbers (the runtime's are
 * the same). Attributes not in the table are 0.
 */
#pragma once

#include "sim.h"

#define SIM_DEVICE_NAME "Simulated GPU"
#define SIM_CC_MAJOR 9
#define SIM_CC_MINOR 0
#define SIM_MULTIPROCESSORS 132
#define SIM_CLOCK_KHZ 1980000
#define SIM_L2_BYTES (50 << 20)

SIM_EXPORT int sim_device_attribute(int attribute, int device);
SIM_EXPORT void sim_device_uuid(int device, unsigned char uuid[16]);
SIM_EXPORT int sim_occupancy(int block_size, size_t dynamic_shared);
