#include "runtimes/kubernetes/client/group.h"

const struct kube_kind kube_specs = {API_GROUP_VERSION, "Spec", "specs", true};
const struct kube_kind kube_releases = {API_GROUP_VERSION, "Release", "releases", true};
