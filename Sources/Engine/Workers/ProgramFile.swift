import Configuration
import Glibc
import Pipeline
import Platform
import Wire

/// The file that makes a program a stage, `NAME/stage.yaml`. It is read here, and no worker is asked.
public enum ProgramFile {
  /// Whether a file describes a program, and is no library.
  public static func isOne(_ path: String) -> Bool { path.hasSuffix("/\(StageFile.name)") }

  /// The descriptions of programs, and the libraries, of which a worker has to be asked.
  static func split(
    _ plugins: [(id: String, file: String)]
  ) -> (programs: [String: Result<StageDescription, Refusal>], libraries: [(id: String, file: String)]) {
    var programs: [String: Result<StageDescription, Refusal>] = [:]
    var libraries: [(id: String, file: String)] = []
    for (id, file) in plugins {
      if file == StageDescription.exec.file {
        programs[id] = .success(.exec)
      } else if isOne(file) {
        programs[id] = description(id, file)
      } else {
        libraries.append((id, file))
      }
    }
    return (programs, libraries)
  }

  private static func description(_ id: String, _ file: String) -> Result<StageDescription, Refusal> {
    func refusal(_ text: String) -> Result<StageDescription, Refusal> {
      .failure(Refusal(stage: id, message: text))
    }
    guard let path = realpath(file, nil) else {
      return refusal("\(file): \(String(cString: strerror(errno)))")
    }
    defer { free(path) }
    do throws(SystemError) {
      let bytes = try contents(String(cString: path))
      do throws(ConfigurationError) {
        let stage = try StageFile.read(bytes, file: String(cString: path))
        let problem = stage.program.flatMap { missing($0) ?? distrust($0) }
        return problem.map { refusal("\(file): \($0)") } ?? .success(stage)
      } catch {
        return refusal(error.diagnostics.map(\.description).joined(separator: "\n"))
      }
    } catch {
      return refusal(error.advice)
    }
  }

  /// What the files are that a program's command names, such as its script, by their paths.
  public static func files(of stage: StageDescription) -> [String: FileStamp] {
    var files: [String: FileStamp] = [:]
    guard let program = stage.program else {
      files[stage.file] = stamp(stage.file)
      return files
    }
    for word in program.command {
      let path = program.path(of: word)
      files[path] = stamp(path)
    }
    return files
  }

  /// Without the time of the inode's last change: a second name for a file changes that, too, and backups make some.
  private static func stamp(_ path: String) -> FileStamp? {
    var stamp = FileStamp(of: path)
    stamp?.changed = 0
    return stamp
  }

  /// Why a program is not run: others could change a file that its command names; `nil`: nobody could.
  ///
  /// Only the words of the command are looked at, and not the files that these import or open.
  public static func distrust(_ program: Program) -> String? {
    for path in program.command.map(program.path) {
      var facts = stat()
      guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
        let problem = TrustedPath.problem(with: path)
      else { continue }
      return "\(path) is not run: \(problem); to run it all the same, run this again with `--trust \(path)`"
    }
    return nil
  }

  /// Why a program cannot be there; `nil`: it can.
  static func missing(_ program: Program) -> String? {
    guard let name = program.command.first else { return nil }
    let places =
      name.hasPrefix("/")
      ? [name] : name.contains("/") ? ["\(program.folder)/\(name)"] : folders.map { "\($0)/\(name)" }
    if places.contains(where: { access($0, X_OK) == 0 }) { return nil }
    if name.contains("/") {
      return
        "the program '\(name)' cannot be run: \(String(cString: strerror(errno))); correct its path, or make it executable"
    }
    return
      "the program '\(name)' is in none of \(folders.joined(separator: ", ")); install it, or name its path"
  }

  /// Where names are looked for: a program's environment has no others.
  private static let folders = ["/usr/local/bin", "/usr/bin", "/bin"]

  /// What the file holds; of one that is too long, as much as shows that.
  private static func contents(_ path: String) throws(SystemError) -> [UInt8] {
    // Not blocking: it may be anything until it is looked at.
    let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var count = 0
    while count < bytes.count {
      let got = bytes.withUnsafeMutableBytes {
        read(file.number, $0.baseAddress.map { $0 + count }, $0.count - count)
      }
      if got < 0 && errno == EINTR { continue }
      if got < 0 { throw SystemError("reading \(path)") }
      if got == 0 { break }
      count += got
    }
    return Array(bytes[..<count])
  }

  /// The most that is read of one, in bytes.
  private static let limit = 1 << 20
}
