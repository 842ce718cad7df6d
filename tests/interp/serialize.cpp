// Writing and reading values as bytes.
#include "tests/interp/serialize.h"

namespace weld::interp {

namespace {

void put(std::vector<std::uint8_t>& out, std::uint64_t bits, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(std::uint8_t(bits >> (8 * i)));
}

void write(std::vector<std::uint8_t>& out, const Type* t, const Value& v) {
    switch (t->kind) {
        case TypeKind::Scalar: put(out, canonical(t->scalar, v.bits), size_of(t->scalar)); break;
        case TypeKind::Simd:
            for (const Value& x : v.items()) put(out, canonical(t->scalar, x.bits), size_of(t->scalar));
            break;
        case TypeKind::Struct:
            for (std::size_t i = 0; i < t->args.size(); ++i) write(out, t->args[i], v.items()[i]);
            break;
        case TypeKind::Vec:
            put(out, v.items().size(), 8);
            for (const Value& x : v.items()) write(out, t->elem(), x);
            break;
        case TypeKind::Dict:
            put(out, v.dict().entries.size(), 8);
            for (const auto& [key, value] : v.dict().entries) {
                write(out, t->key(), key);
                write(out, t->value(), value);
            }
            break;
        case TypeKind::Builder:
        case TypeKind::Function: break;
    }
}

class Reader {
  public:
    explicit Reader(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {}

    bool ok = true;
    bool at_end() const { return at_ == bytes_.size(); }

    Value read(const Type* t) {
        switch (t->kind) {
            case TypeKind::Scalar: return read_scalar(t->scalar);
            case TypeKind::Simd: {
                Values lanes;
                for (std::uint32_t i = 0; i < t->lanes && ok; ++i) lanes.push_back(read_scalar(t->scalar));
                return list_value(std::move(lanes));
            }
            case TypeKind::Struct: {
                Values fields;
                for (const Type* f : t->args) fields.push_back(read(f));
                return list_value(std::move(fields));
            }
            case TypeKind::Vec: return read_vec(t);
            case TypeKind::Dict: return read_dict(t);
            case TypeKind::Builder:
            case TypeKind::Function: break;
        }
        ok = false;
        return {};
    }

  private:
    std::uint64_t take(int bytes) {
        if (bytes_.size() - at_ < std::size_t(bytes)) ok = false;
        if (!ok) return 0;
        std::uint64_t bits = 0;
        for (int i = 0; i < bytes; ++i) bits |= std::uint64_t(bytes_[at_++]) << (8 * i);
        return bits;
    }

    Value read_scalar(Scalar s) {
        const std::uint64_t bits = take(size_of(s));
        if (s == Scalar::Bool && bits > 1) ok = false;
        return scalar_value(bits);
    }

    /// The bytes that any value of `t` takes at least. Elements of none cannot be counted by what is left.
    static std::size_t least_bytes(const Type* t) {
        switch (t->kind) {
            case TypeKind::Scalar: return std::size_t(size_of(t->scalar));
            case TypeKind::Simd: return std::size_t(size_of(t->scalar)) * t->lanes;
            case TypeKind::Struct: {
                std::size_t n = 0;
                for (const Type* f : t->args) n += least_bytes(f);
                return n;
            }
            default: return 8;
        }
    }

    std::uint64_t count_of(std::size_t each) {
        constexpr std::uint64_t most_without_bytes = std::uint64_t(1) << 32;
        const std::uint64_t n = take(8);
        if (n > (each > 0 ? (bytes_.size() - at_) / each : most_without_bytes)) ok = false;
        return ok ? n : 0;
    }

    Value read_vec(const Type* t) {
        const std::uint64_t n = count_of(least_bytes(t->elem()));
        Values items;
        for (std::uint64_t i = 0; i < n && ok; ++i) items.push_back(read(t->elem()));
        return list_value(std::move(items));
    }

    Value read_dict(const Type* t) {
        const std::uint64_t n = count_of(least_bytes(t->key()) + least_bytes(t->value()));
        Dict d{std::map<Value, Value, KeyLess>(KeyLess{t->key()})};
        for (std::uint64_t i = 0; i < n && ok; ++i) {
            Value key = read(t->key());
            Value value = read(t->value());
            if (ok)
                ok = d.entries.emplace(as_key(t->key(), key), std::move(value))
                         .second;  // a key twice is no dictionary
        }
        return dict_value(std::move(d));
    }

    const std::vector<std::uint8_t>& bytes_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<std::uint8_t> serialize(const Type* type, const Value& v) {
    std::vector<std::uint8_t> out;
    write(out, type, v);
    return out;
}

std::optional<Value> deserialize(const Type* type, const std::vector<std::uint8_t>& bytes) {
    Reader r(bytes);
    Value v = r.read(type);
    if (!r.ok || !r.at_end()) return {};
    return v;
}

}  // namespace weld::interp
