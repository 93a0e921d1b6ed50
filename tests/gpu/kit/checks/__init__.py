# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The checks; table.py names them.  Each function gets a Bench (one.py) and reports its findings to it."""
