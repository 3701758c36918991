/// What a new stage is written in, and what that makes of its files.
enum StageLanguage: String, CaseIterable {
  case swift, c, python, shell

  /// Whether the stage is a program, and no library: nothing is built.
  var isProgram: Bool { self == .python || self == .shell }

  /// The command that builds it.
  var build: String? {
    switch self {
    case .swift: "swift build -c release"
    case .c: "make"
    case .python, .shell: nil
    }
  }

  /// The plugin's file, relative to the stage's folder.
  func plugin(_ name: StageName) -> String {
    switch self {
    case .swift: "\(plugins)/libsluice-\(name.id).so"
    case .c: "libsluice-\(name.id).so"
    case .python, .shell: "./stage.yaml"
    }
  }

  /// The folder that a pipeline in the stage's folder names under `plugins`. That of a program is the folder its own lies in.
  var plugins: String {
    switch self {
    case .swift: ".build/release"
    case .c: "."
    case .python, .shell: ".."
    }
  }

  /// The templates, and the files they become.
  func files(_ name: StageName, _ kind: StageKind) -> [(from: String, to: String)] {
    let readme = !isProgram && kind == .source ? "\(rawValue)/source/README.md" : "\(rawValue)/README.md"
    var files: [(from: String, to: String)] = [
      (readme, "README.md"), ("shared/\(kind)/cases.yaml", "cases.yaml"),
      ("shared/\(kind)/pipeline.yaml", "pipeline.yaml"),
    ]
    switch self {
    case .swift:
      files += [
        ("swift/Package.swift", "Package.swift"), ("swift/exports.map", "exports.map"),
        ("swift/\(kind)/Greeting.swift", "Sources/\(name.type).swift"),
      ]
    case .c: files += [("c/Makefile", "Makefile"), ("c/\(kind)/greeting.c", "\(name.id).c")]
    case .python: files += [("python/stage.yaml", "stage.yaml"), ("python/greeting.py", "\(name.id).py")]
    case .shell: files += [("shell/stage.yaml", "stage.yaml"), ("shell/greeting.sh", "\(name.id).sh")]
    }
    if kind == .content { files.append(("shared/content/fixtures/hello.txt", "fixtures/hello.txt")) }
    return files
  }
}
