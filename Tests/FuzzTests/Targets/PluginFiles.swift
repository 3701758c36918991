import Workers

extension FuzzTarget {
  /// A plugin file in ELF format.
  static let pluginFile = FuzzTarget(name: "plugin-file", longest: 2048) { bytes in
    let memory = try MemoryFile(bytes)
    guard let file = PluginFile(memory.path) else { return }
    let told = file.compilers + file.libraries
    try demand(told.count <= 1024, "\(told.count) compilers and libraries")
    try demand(told.allSatisfy { $0.utf8.count <= 12_288 }, "a name of a library that is none")
    _ = file.swiftRuntime
  }
}
