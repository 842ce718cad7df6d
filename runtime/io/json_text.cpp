// Nothing but what has to be escaped is.
#include "runtime/io/json_text.h"

#include <fmt/format.h>

#include "weldir/support/utf8.h"

namespace weld {

void append_json(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const std::size_t size = utf8_sequence(text);
        const char c = text[0];
        if (size == 0) out += "\xef\xbf\xbd";
        else if (c == '"' || c == '\\') (out += '\\') += c;
        else if (c == '\n') out += "\\n";
        else if (c == '\t') out += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", int(c));
        else out += text.substr(0, size);
        text.remove_prefix(size ? size : 1);
    }
    out += '"';
}

}  // namespace weld
