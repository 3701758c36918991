#ifndef SLUICE_NETWORK_H
#define SLUICE_NETWORK_H

/* A descriptor that becomes readable when an address or a route of this machine's network comes or goes (rtnetlink(7)); -1 where
 * there is none. Needs no privilege. */
int sluice_watch_network(void);

/* Takes what is there to read. Returns whether something has changed. */
int sluice_network_has_changed(int descriptor);

#endif
