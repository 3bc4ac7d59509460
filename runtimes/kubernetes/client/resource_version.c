#include "runtimes/kubernetes/client/resource_version.h"

#include <stdbool.h>
#include <string.h>

static bool is_number(const char *text)
{
    return text && *text && !text[strspn(text, "0123456789")];
}

int kube_compare_versions(const char *a, const char *b)
{
    if (!is_number(a) || !is_number(b))
        return 0;
    if (strlen(a) != strlen(b))
        return strlen(a) < strlen(b) ? -1 : 1;
    return strcmp(a, b);
}
