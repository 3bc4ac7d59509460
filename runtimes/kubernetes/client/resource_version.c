#include "runtimes/kubernetes/client/resource_version.h"

#include <string.h>

int kube_compare_versions(const char *a, const char *b)
{
    if (!a || !b)
        return 0;
    if (strlen(a) != strlen(b))
        return strlen(a) < strlen(b) ? -1 : 1;
    return strcmp(a, b);
}
