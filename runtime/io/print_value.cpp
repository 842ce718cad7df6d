// Printing by type. In readable form a vector of i8 that is printable UTF-8 is a string.
#include "runtime/io/print_value.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/io/entries.h"
#include "weldir/support/utf8.h"
#include "weldir/support/visible.h"

namespace weld {

namespace {

constexpr std::int64_t kLong = 1000;  ///< longer vectors are elided
constexpr std::int64_t kShown = 50;   ///< elements on either side then

template <class T>
T load(const void* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

class Printer {
  public:
    Printer(const PrintStyle& style, Writer& out) : style_(style), out_(out) {}

    void print(const WeldType* type, const void* value) {
        switch (type->kind) {
            case kWeldSimd: return elements(type->args[0], value, type->size / type->args[0]->size);
            case kWeldVec: return vec(type->args[0], load<WeldVec>(value));
            case kWeldStruct: return fields(type, value);
            case kWeldDict: return dict(type, load<WeldDict*>(value));
            default: return print_scalar(WeldKind(type->kind), value, out_);
        }
    }

  private:
    void vec(const WeldType* elem, const WeldVec& vec) {
        if (elem->kind == kWeldI8 && !style_.json &&
            string({static_cast<const char*>(vec.data), std::size_t(vec.len)}))
            return;
        elements(elem, vec.data, vec.len);
    }

    void elements(const WeldType* elem, const void* data, std::int64_t n) {
        list('[', ']', n,
             [&](std::int64_t i) { print(elem, static_cast<const char*>(data) + i * elem->size); });
    }

    void fields(const WeldType* type, const void* value) {
        list(style_.json ? '[' : '{', style_.json ? ']' : '}', type->num_args, [&](std::int64_t i) {
            print(type->args[i], static_cast<const char*>(value) + type->offsets[i]);
        });
    }

    void dict(const WeldType* type, WeldDict* dict) {
        const std::vector<DictEntry> entries = sorted_entries(type, dict);
        list(style_.json ? '[' : '{', style_.json ? ']' : '}', std::int64_t(entries.size()),
             [&](std::int64_t i) {
                 if (style_.json) out_.put('[');
                 print(type->args[0], entries[i].key);
                 out_.put(style_.json ? ", " : ": ");
                 print(type->args[1], entries[i].value);
                 if (style_.json) out_.put(']');
             });
    }

    template <class Item>
    void list(char open, char close, std::int64_t n, const Item& item) {
        const bool elided = style_.elide && n > kLong;
        out_.put(open);
        for (std::int64_t i = 0; i < n && !out_.failed(); ++i) {
            if (i) out_.put(", ");
            if (elided && i == kShown) {
                out_.put(fmt::format("... {} more ..., ", n - 2 * kShown));
                i = n - kShown;
            }
            item(i);
        }
        out_.put(close);
    }

    /// Prints `bytes` as a string, if they are one that people can read.
    bool string(std::string_view bytes) {
        if (bytes.empty()) return out_.put("\"\""), true;
        for (std::string_view rest = bytes; !rest.empty();) {
            const std::size_t size =
                rest[0] == '\n' || rest[0] == '\t' || rest[0] == '\r' ? 1 : printable_character(rest);
            if (!size) return false;
            rest.remove_prefix(size);
        }
        const bool elided = style_.elide && std::int64_t(bytes.size()) > kLong;
        out_.put('"');
        escaped(elided ? whole_characters(bytes.substr(0, kLong / 2)) : bytes);
        out_.put('"');
        if (elided) out_.put(fmt::format("... ({} bytes)", bytes.size()));
        return true;
    }

    /// Without a character that was cut at the end.
    static std::string_view whole_characters(std::string_view text) {
        std::size_t start = text.size();
        while (start && (text[start - 1] & 0xc0) == 0x80) --start;
        if (start && utf8_sequence(text.substr(start - 1)) == 0) return text.substr(0, start - 1);
        return text;
    }

    void escaped(std::string_view text) {
        for (char c : text) {
            switch (c) {
                case '"': out_.put("\\\""); break;
                case '\\': out_.put("\\\\"); break;
                case '\n': out_.put("\\n"); break;
                case '\t': out_.put("\\t"); break;
                case '\r': out_.put("\\r"); break;
                default: out_.put(c);
            }
        }
    }

    const PrintStyle& style_;
    Writer& out_;
};

}  // namespace

void print_scalar(WeldKind kind, const void* value, Writer& out) {
    switch (kind) {
        case kWeldBool: return out.put(load<std::uint8_t>(value) ? "true" : "false");
        case kWeldI8: return out.number(load<std::int8_t>(value));
        case kWeldI16: return out.number(load<std::int16_t>(value));
        case kWeldI32: return out.number(load<std::int32_t>(value));
        case kWeldI64: return out.number(load<std::int64_t>(value));
        case kWeldU8: return out.number(load<std::uint8_t>(value));
        case kWeldU16: return out.number(load<std::uint16_t>(value));
        case kWeldU32: return out.number(load<std::uint32_t>(value));
        case kWeldU64: return out.number(load<std::uint64_t>(value));
        case kWeldF32: return out.number(load<float>(value));
        case kWeldF64: return out.number(load<double>(value));
        default: return;  // not a scalar
    }
}

void print_value(const WeldType* type, const void* value, const PrintStyle& style, Writer& out) {
    Printer(style, out).print(type, value);
}

}  // namespace weld
