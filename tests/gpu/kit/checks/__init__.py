# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The checks; table.py names them.  Each function is given a Bench (one.py) and says what it finds."""
