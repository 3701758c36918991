import Glibc

/// The names of Swift's functions, as people write them.
enum Demangling {
  private typealias Function =
    @convention(c) (
      UnsafePointer<CChar>?, UInt, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<UInt>?, UInt32
    ) -> UnsafeMutablePointer<CChar>?

  /// The runtime's own function; it takes any text, and gives none for what is not mangled.
  private static let function: Function? = {
    guard let address = dlsym(dlopen(nil, RTLD_NOW), "swift_demangle") else { return nil }
    return unsafeBitCast(address, to: Function.self)
  }()

  /// The name without its module and its types, such as `Greeting.process`.
  static func text(_ name: String) -> String {
    guard name.hasPrefix("$s"), let function else { return name }
    guard let full = function(name, UInt(name.utf8.count), nil, nil, 0) else { return name }
    defer { free(full) }
    return short(String(cString: full))
  }

  static func short(_ full: String) -> String {
    var text = full[...]
    // What the optimizer made of a function is told as that function.
    while text.hasPrefix("function signature ") || text.hasPrefix("generic "),
      let of = text.firstRange(of: "> of ")
    {
      text = text[of.upperBound...]
    }
    var prefix = ""
    if text.hasPrefix("closure #"), let place = text.firstRange(of: " in ") {
      prefix = "closure in "
      text = text[place.upperBound...]
    }
    for word in ["static ", "protocol witness for "] where text.hasPrefix(word) {
      text = text.dropFirst(word.count)
    }
    // A private name is `(crash in _C9D9A27E)`.
    var name = ""
    while let letter = text.first, !(letter == "(" && text.firstRange(of: " in _") == nil) {
      if letter == "(", let hash = text.firstRange(of: " in _"), let end = text.firstRange(of: ")") {
        guard hash.lowerBound < end.lowerBound else { break }
        name += text[text.index(after: text.startIndex)..<hash.lowerBound]
        text = text[end.upperBound...]
      } else {
        name.append(letter)
        text = text.dropFirst()
      }
    }
    let parts = name.split(separator: ".")
    return prefix + (parts.count > 1 ? parts.dropFirst().joined(separator: ".") : name).prefix(200)
  }
}
