#include "app/stream_key.h"

#include "support/config_rig.h"
#include "support/test.h"
