/*
 * `kusion-operator state …`: what people do with the store of State.
 *
 *   state list                               all States
 *   state show NAMESPACE/NAME [--reveal]     one, as JSON
 *   state verify                             reads all that is kept
 *   state copy --from PLACE --to PLACE       moves it to another store
 *
 * With flags of the operator: --state-backend names the store, --kubeconfig the cluster.
 */
#pragma once

/* The exit status: 0; 1: it failed; 2: it was not understood. argv[1] is "state". */
int state_command(int argc, char **argv);
