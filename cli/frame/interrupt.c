#include "cli/frame/interrupt.h"

#include <signal.h>

static volatile sig_atomic_t happened;

static void on_signal(int number)
{
    (void)number;
    happened = 1;
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupt_happened(void)
{
    return happened;
}

void interrupt_release(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}
