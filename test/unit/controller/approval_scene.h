/* Plans that wait for approval, in a scene: what several suites do with them. */
#pragma once

#include "test/unit/controller/scene.h"

#define WEB     SPECS "/web"
#define MANUAL  "\"approval\":{\"mode\":\"Manual\"},"
#define RELEASE RELEASES "/web-"

/* data.x of the ConfigMap "a", by somebody else. */
void approval_edit_a(struct scene *scene, const char *x);

bool approval_is_waiting(struct scene *scene, unsigned revision);
/* Approves the plan of a Release that waits. */
void approval_give(struct scene *scene, unsigned revision);

/* Begins a scene with a Spec "web" of the ConfigMap "a" with data.x 1. Revision 1 is Ready. */
void approval_begin(struct scene *scene, const char *fields);
