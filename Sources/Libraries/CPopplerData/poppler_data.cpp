#include "poppler_data.h"

#include <string>

/* Declared here and not taken from <GlobalParams.h>, which Debian leaves to a package of its own. Only this one
 * function is linked; it keeps the folder and touches nothing. */
class GlobalParamsIniter {
public:
  static bool setCustomDataDir(const std::string &folder);
};

void sluice_poppler_without_data(void) {
  GlobalParamsIniter::setCustomDataDir("/dev/null"); /* which is no folder anywhere */
}
