/* What the tests of the Kubernetes client bring: a scripted server, and a client to it. */
#include "test/unit/runtimes/kubernetes/client/harness.c"
#include "test/unit/runtimes/kubernetes/fake_server.c"
