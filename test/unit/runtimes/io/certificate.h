/* The certificate of a server of hack/stores. */
#pragma once

/* Signs server.crt of the folder again by ca.key, so that it ends in so many days; -1: it has ended
 * yesterday. Aborts where it cannot. */
void certificate_sign_again(const char *folder, int days);
