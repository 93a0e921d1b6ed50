/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ADDRESS_SANITIZER: this build has it (1), or not (0).  What it finds in random models is in the first few already,
 * and it takes six times as long for each: SOME_OF is what of their number is tried then.
 */
#pragma once

#if defined(__clang__)
#define ADDRESS_SANITIZER __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#else
#define ADDRESS_SANITIZER 0
#endif

#if ADDRESS_SANITIZER
#define SOME_OF(number) (((number) + 3) / 4)
#else
#define SOME_OF(number) (number)
#endif
