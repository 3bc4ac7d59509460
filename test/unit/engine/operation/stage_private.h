/*
 * What the files of the stage share: stage.c (processes, and whole runs), stage_run.c (one
 * operation, step by step), stage_text.c (the outcome as text), stage_truth.c (State names all that
 * we made). stage_spec.c, which reads Specs, needs none of this.
 */
#pragma once

#include "test/unit/engine/operation/stage.h"

#define STAGE_PATIENCE 20000   /* ms, real: how long is waited for what must come */
#define STAGE_PLAN_KEY "a key" /* signs approved plans */

/* Adds to the world's lies what we made and State does not name. arg: the stage. */
void stage_check_truth(void *arg);

void stage_texts_init(struct stage *stage);
void stage_texts_done(struct stage *stage);
void stage_texts_reset(struct stage *stage);
/* These add to the texts. */
void stage_show_plan(struct stage *stage, const struct plan *plan);
void stage_show_results(struct stage *stage, const struct operation_results *results);
