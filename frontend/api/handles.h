// The handles of the C API: which addresses are handles, and of what.
//
// A handle is the address of an object that begins with its kind. All that are alive stand in one table, so a
// handle that was freed, or never was one, is found out without looking at its memory; and whoever uses a
// handle holds on to the object, so that another thread may free the handle meanwhile.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace weld {

enum class HandleKind { Conf, Context, Error, Module, Value, Run };

/// What the objects behind handles derive from; each says which kind it is with `static constexpr kKind`.
struct Handle {
    explicit Handle(HandleKind k) : kind(k) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    const HandleKind kind;
};

/// The handles that are alive. Thread-safe.
class Handles {
  public:
    /// The table of the process. It is never destroyed: other libraries may free handles at the very end.
    static Handles& all() {
        static Handles& table = *new Handles;
        return table;
    }

    /// Makes a handle; it is alive until `remove`.
    template <class T, class... Args>
    T* make(Args&&... args) {
        return add(std::make_shared<T>(std::forward<Args>(args)...));
    }
    template <class T>
    T* add(std::shared_ptr<T> object) {
        T* handle = object.get();
        std::unique_lock lock(mutex_);
        alive_.emplace(handle, std::move(object));
        return handle;
    }

    /// The object, to be used as long as the caller holds it; null if `handle` is no live handle of that
    /// kind.
    template <class T>
    std::shared_ptr<T> find(const void* handle) const {
        std::shared_lock lock(mutex_);
        const auto at = alive_.find(handle);
        if (at == alive_.end() || at->second->kind != T::kKind) return nullptr;
        return std::static_pointer_cast<T>(at->second);
    }

    /// Ends a handle and returns what it stood for; null as in `find`.
    template <class T>
    std::shared_ptr<T> remove(const void* handle) {
        std::unique_lock lock(mutex_);
        const auto at = alive_.find(handle);
        if (at == alive_.end() || at->second->kind != T::kKind) return nullptr;
        auto object = std::static_pointer_cast<T>(std::move(at->second));
        alive_.erase(at);
        return object;
    }

  private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<const void*, std::shared_ptr<Handle>> alive_;
};

}  // namespace weld
