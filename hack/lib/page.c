/* Serves a page: for pods that a test looks at. The port is that of the variable PORT, or 8080; the
 * page tells the pod's name and, if there is one, the variable GREETING. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value ? value : otherwise;
}

static void answer(int client)
{
    char request[4096], page[512], response[768];
    int length = snprintf(page, sizeof(page), "%s %s\n", variable("HOSTNAME", "?"),
                          variable("GREETING", "Hello"));
    int n = snprintf(response, sizeof(response),
                     "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s",
                     length, page);

    if (read(client, request, sizeof(request)) > 0 && write(client, response, (size_t)n) < 0)
        perror("write");
    close(client);
}

static void end(int signal)
{
    (void)signal;
    _exit(0);
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    int server = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_port = htons((unsigned short)atoi(variable("PORT", "8080")));
    signal(SIGTERM, end);
    signal(SIGPIPE, SIG_IGN);
    if (bind(server, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(server, 16) < 0) {
        perror("listen");
        return 1;
    }
    for (;;) {
        int client = accept(server, NULL, NULL);

        if (client >= 0)
            answer(client);
    }
}
