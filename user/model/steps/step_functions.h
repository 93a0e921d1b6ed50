/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which Python functions a request for steps names, and which functions of the trace have a similar name. */
#pragma once

#include "model/steps/steps.h"

/* The request is for STEP_FUNCTION. */
bool step_is_function(const struct step_request *request, const struct model_code *code);

/* Fills steps->functions and steps->similar from all code objects of the trace. */
void step_functions_find(struct steps *steps, const struct step_request *request, const struct model *last);
void step_functions_free(struct steps *steps);
