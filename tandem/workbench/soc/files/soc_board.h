/* The system around the accelerator: console, clock, and the platform of the runtime. */
#ifndef SOC_BOARD_H
#define SOC_BOARD_H

#include <stdint.h>

#include "tandem.h"

const struct tandem_platform *board_platform(void);
uint64_t soc_cycles(void);         /* since the system began, in 32 bits */
void soc_text(const char *text);   /* to the console */
void soc_number(uint32_t number);  /* in decimal */
void soc_end(int status);          /* ends a simulation */

#endif /* SOC_BOARD_H */
