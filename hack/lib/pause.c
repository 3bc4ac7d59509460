/* Holds the namespaces of a pod: it waits until it is told to end, and collects orphans. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal)
{
    (void)signal;
    _exit(0);
}

static void collect(int signal)
{
    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

int main(void)
{
    signal(SIGTERM, end);
    signal(SIGINT, end);
    signal(SIGCHLD, collect);
    for (;;)
        pause();
}
