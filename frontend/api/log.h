// Messages to standard error, as weld_set_log_level asks for them.
#pragma once

#include <string_view>

namespace weld {

enum class LogLevel { Off, Error, Warn, Info, Debug, Trace };

void set_log_level(LogLevel level);
/// Whether messages of this level are shown: for those that cost something to make.
bool logs(LogLevel level);
/// Shows `text`, line by line behind the name of the level.
void log(LogLevel level, std::string_view text);

}  // namespace weld
