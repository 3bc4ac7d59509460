#include "controller/reconcile/store_wait.h"

#include <string.h>

#include "controller/reconcile/tell.h"
#include "engine/base/str.h"
#include "engine/store/gate.h"
#include "engine/store/store_error.h"

#define LOOK_INTERVAL 15000 /* ms between questions whether the store may be used */
#define BEFORE        "; before that, Ready was "

bool store_wait_is_over(const struct attempt *attempt, struct reconcile_result *result)
{
    if (store_gate_ask(attempt->run.context->gate, NULL) >= 0)
        return true;
    *result = (struct reconcile_result){
        .kind = RECONCILE_AFTER, .after = LOOK_INTERVAL, .priority = WORKQUEUE_RESYNC};
    return false;
}

static char *first_line(const char *text)
{
    return text ? str_new_n(text, strcspn(text, "\n")) : NULL;
}

/* "True (ReconciliationSucceeded): 3 created"; free(). NULL: it was not said. */
static char *ready_before(const struct run_last *last)
{
    _cleanup_free_ char *line = first_line(last->message);
    const char *before = line ? strstr(line, BEFORE) : NULL;

    if (before)
        return str_new(before + strlen(BEFORE));
    return last->ready ? str_printf("%s (%s): %s", last->ready, last->reason, line ? line : "")
                       : NULL;
}

int store_wait_tell(struct attempt *attempt, struct error *error)
{
    const struct run *run = &attempt->run;
    const struct run_last last = run_last(run);
    _cleanup_free_ char *line = NULL, *before = NULL, *message = NULL;
    struct error why = {0};
    struct outcome outcome = {.is_end = true};

    if (store_gate_ask(run->context->gate, &why) >= 0) /* by now */
        return 0;
    line = first_line(why.message);
    before = ready_before(&last);
    message = str_printf("%s%s%s%s", line, before ? BEFORE : "", before ? before : "",
                         err_hints(why.message));
    outcome.verdict = (struct verdict){"Unknown", why.reason, message,
                                       store_error_is_for_people(why.reason) ? PROGRESS_STALLED
                                                                             : PROGRESS_RECONCILING,
                                       last.healthy};
    return tell_outcome(attempt, &outcome, TELL_SPEC, error);
}
