/* heddle learn in the program `heddle`: the work is done by heddle-learn beside it, since the library of
 * exact linear algebra takes longer to load than a kernel to compile. SPDX-License-Identifier: MIT */
#include "tools/cli/cli.h"

int cmd_learn(Settings *settings) {
    (void)settings;
    return cli_start_beside("heddle-learn", NULL);
}
