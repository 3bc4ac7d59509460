/* The API server in memory as a program, for tests that run against a real one: says where it
 * listens as a kubeconfig, and serves until its input ends. */
#include <unistd.h>

#include "test/unit/api_server/api_server.h"

int main(void)
{
    struct api_server *server = api_server_new();
    char byte;

    printf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
           "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
           "clusters: [{name: c, cluster: {server: \"%s\"}}]\nusers: [{name: u, user: {}}]\n",
           api_server_url(server));
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    api_server_free(server);
    return 0;
}
