import Glibc
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform

/// What `sluice doctor` prints.
struct DoctorReport {
  enum Worker {
    case started(stage: String, sandbox: UInt32)
    case failed(String)
  }

  var kernel: String
  /// 0: none.
  var landlockABI: Int64
  /// The parts of the sandbox that the kernel supports, as bits.
  var offered: UInt32
  /// Why no namespaces can be made for a program's processes, as an errno; 0: they can.
  var namespaces: Int32
  var worker: Worker
  var folders: [(path: String, isThere: Bool)]
  var plugins: [FoundPlugin]
  var keys: KeyReport

  private var inForce: UInt32 {
    if case .started(_, let sandbox) = worker { sandbox } else { 0 }
  }

  /// `complete`, `partial` or `none`: whether every part that is required is in force.
  private var level: String {
    let required = SandboxPart.all.filter(\.isRequired)
    let closed = required.filter { $0.isPart(of: inForce) }
    return closed.count == required.count ? "complete" : closed.isEmpty ? "none" : "partial"
  }

  /// All problems found, one sentence each.
  var problems: [String] {
    var problems: [String] = []
    switch worker {
    case .failed(let text): problems.append("no worker starts: \(text)")
    case .started:
      let missing = SandboxPart.all.filter { $0.isRequired && !$0.isPart(of: inForce) }
      problems += missing.map { "the sandbox lacks \($0.name): \($0.remedy)" }
      if !missing.isEmpty {
        problems.append(
          "until then `sandbox: require`, the default, refuses to run; `sandbox: prefer` in the pipeline runs with "
            + "what there is")
      }
    }
    problems += keys.problems
    problems += plugins.compactMap { plugin in
      plugin.problem.map { "stage '\(plugin.id)': \($0)" }
    }
    if !plugins.contains(where: { $0.id == "digest" }) {
      problems.append("the stage 'digest' is not beside this program; is the installation whole?")
    }
    return problems
  }

  // MARK: For people

  func text(_ style: Style) -> String {
    var text = "sluice \(Version.number), stage ABI \(Version.stageABI), "
    text += "SQLite \(LedgerEngine.sqliteVersion), Linux \(kernel)\n\n"
    switch worker {
    case .started(let stage, _): text += "Sandbox of a worker with '\(stage)': \(level)\n"
    case .failed: text += "Sandbox: not known, for no worker starts\n"
    }
    for part in SandboxPart.all { text += line(part, style) }
    text +=
      "  \(style.word(namespaces == 0 ? "ok" : "missing", width: 7))  \(Help.pad("namespaces", 14))"
      + "  a program may have several processes\(namespaces == 0 ? "" : " (\(namespacesRemedy))")\n"
    text += "  Landlock ABI \(landlockABI)\n\n"
    text += keys.text(style) + "Plugins are searched in\n"
    for folder in folders {
      text += "  \(Terminal.printable(folder.path))\(folder.isThere ? "" : " (not there)")\n"
    }
    text += "\n"
    let width = plugins.map(\.id.count).max() ?? 0
    for plugin in plugins {
      let word = style.word(plugin.problem == nil ? "ok" : "wrong", width: 7)
      text += "  \(word)  \(Help.pad(Terminal.printable(plugin.id), width))"
      if case .success(let stage) = plugin.result { text += "  \(Terminal.printable(stage.version))" }
      text += "  \(Terminal.printable(plugin.file))\n"
    }
    if problems.isEmpty { return text + "\nNothing is wrong.\n" }
    return text + "\nWrong:\n" + problems.map { "  \(Terminal.printable($0))\n" }.joined()
  }

  private var namespacesRemedy: String {
    "\(String(cString: strerror(namespaces))): set the sysctl user.max_user_namespaces, and on Debian "
      + "kernel.unprivileged_userns_clone, above 0"
  }

  private func line(_ part: SandboxPart, _ style: Style) -> String {
    let isClosed = part.isPart(of: inForce)
    let word = isClosed ? "ok" : part.isRequired ? "wrong" : "missing"
    let why =
      isClosed
      ? "" : part.isPart(of: offered) ? " (the kernel has it; the worker does not)" : " (\(part.remedy))"
    return "  \(style.word(word, width: 7))  \(Help.pad(part.name, 14))  \(part.gives)\(why)\n"
  }

  // MARK: For programs

  var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "doctor")
      writer.key("ok")
      writer.value(problems.isEmpty)
      writer.member("version", Version.number)
      writer.member("stageABI", Version.stageABI)
      writer.member("sqlite", LedgerEngine.sqliteVersion)
      writer.member("kernel", kernel)
      writer.member("landlockABI", landlockABI)
      writer.member("sandbox", level)
      writer.member("namespaces", namespaces == 0)
      writer.key("parts")
      writer.array { writer in
        for part in SandboxPart.all {
          writer.object { writer in
            writer.member("name", part.name)
            writer.member("gives", part.gives)
            for (key, value) in [
              ("required", part.isRequired), ("offered", part.isPart(of: offered)),
              ("inForce", part.isPart(of: inForce)),
            ] {
              writer.key(key)
              writer.value(value)
            }
          }
        }
      }
      keys.write(to: &writer)
      writer.key("folders")
      writer.array { writer in for folder in folders { writer.value(folder.path) } }
      writer.key("plugins")
      writer.array { writer in for plugin in plugins { plugin.write(to: &writer) } }
      writer.key("problems")
      writer.array { writer in for problem in problems { writer.value(problem) } }
    }
    return writer.text + "\n"
  }
}
