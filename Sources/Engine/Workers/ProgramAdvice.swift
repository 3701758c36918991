import Configuration
import Glibc
import Pipeline
import Platform

/// What the author of a program may do about its end, as far as its last words tell. What the sandbox forbids fails with an errno that
/// names no key, and so does what the user `nobody` may not do.
enum ProgramAdvice {
  /// - Parameters:
  ///   - words: the last lines that it wrote, with ` / ` between them.
  ///   - isRoot: the program runs as `nobody`.
  /// - Returns: a part of a sentence; `nil`: they tell nothing of a known kind.
  static func text(_ words: String, _ stage: StageDescription, isRoot: Bool = geteuid() == 0) -> String? {
    guard let program = stage.program else { return nil }
    let place = stage.isBuiltIn ? "the stage's options" : StageFile.name
    // Its language gives errors their names from strerror(3), in English. The last line has the one that ended it.
    for line in lines(words).reversed() {
      if line.contains("Permission denied") {
        return namesCommand(line, program) ? unreadable(isRoot) : closed(place, isRoot)
      }
      if line.contains("No such file or directory") { return "relative paths begin at \(program.folder)" }
      let isRefused = ["Operation not permitted", "Cannot fork"].contains { line.contains($0) }
      if isRefused && program.processes == 1 {
        return
          "with 'processes: 1' it starts no other process: give 'processes' in \(place) a higher number; a program has no network"
      }
    }
    return nil
  }

  private static func lines(_ words: String) -> [Substring] {
    var lines: [Substring] = []
    var rest = words[...]
    while let gap = rest.firstRange(of: " / ") {
      lines.append(rest[..<gap.lowerBound])
      rest = rest[gap.upperBound...]
    }
    return lines + [rest]
  }

  private static func closed(_ place: String, _ isRoot: Bool) -> String {
    "it reads its own folder, what is installed, and what 'reads' in \(place) names, and it writes no file but descriptor 4"
      + (isRoot
        ? "; it runs as the user nobody, which needs the mode o+r for files and o+x for their folders" : "")
  }

  private static func unreadable(_ isRoot: Bool) -> String {
    isRoot
      ? "it runs as the user nobody: give the file the mode o+r, and the folders above it o+x"
      : "let the user that runs sluice read it, and enter the folders above it"
  }

  /// Whether a line speaks of a file of the command, such as the script, behind the name of what speaks.
  private static func namesCommand(_ line: Substring, _ program: Program) -> Bool {
    let words = line.split { " '\":".contains($0) }.dropFirst()
    return program.command.contains { part in words.contains { $0 == part || $0.hasSuffix("/\(part)") } }
  }
}
