import Glibc
import Platform

/// The settings from the command line and the environment.
struct Settings {
  var only: [String] = []
  var rounds: Int?
  /// The disks to measure on; `nil`: one with a journal and one in memory.
  var disks: [DiskKind]?
  /// Small sizes and few rounds, to try the bench itself.
  var isQuick = false
  var isJSON = false
  var output: String?
  var isCheck = false
  var isUpdate = false

  static let usage = """
    sluice-bench [--only ROWS] [--disk KINDS] [--rounds N] [--quick] [--format table|json]
                 [--output FILE]
    sluice-bench --check [--update]

      --only ROWS    of these, with commas: \(RowGroup.all.map(\.name).joined(separator: ", "))
      --disk KINDS   of these, with commas: journaled (an ext4 made for the bench), memory (a tmpfs), here (the
                     file system of .build/bench). Default: the first two; who is not root gets `here` and
                     /dev/shm for them
      --rounds N     rounds of each comparison; else as many as its time allows, up to 5, or 2 with --quick
      --quick        small sizes
      --output FILE  write the rows there instead of to standard output
      --check        count instructions, and fail where they are 15 percent above the baseline
      --update       write what was counted to the baseline

    SLUICE_BIN_DIR   the folder of the sluice to measure (.build/release)
    SLUICE_CORPUS    the folder that holds pdf-valid/ (../shared/corpus)
    CC               the C compiler for raw.c and mails.c (clang)

    Exit codes: 0 all goals reached, 1 some not, or a row failed, 2 usage.

    """

  init(_ words: [String]) throws {
    var words = words[...]
    func value(_ option: String) throws -> String {
      guard let value = words.popFirst() else { throw BenchError("\(option) needs a value") }
      return value
    }
    while let word = words.popFirst() {
      switch word {
      case "--only":
        only = try value(word).split(separator: ",").map(String.init)
        for name in only where !RowGroup.all.contains(where: { $0.name == name }) {
          throw BenchError("there are no rows '\(name)'")
        }
      case "--disk":
        disks = try value(word).split(separator: ",").map { name in
          guard let kind = DiskKind(rawValue: String(name)) else {
            throw BenchError(
              "--disk is \(DiskKind.allCases.map(\.rawValue).joined(separator: ", ")); not '\(name)'")
          }
          return kind
        }
      case "--rounds":
        guard let count = Int(try value(word)), 1...100 ~= count else {
          throw BenchError("--rounds is 1 to 100")
        }
        rounds = count
      case "--format":
        let format = try value(word)
        guard ["table", "json"].contains(format) else { throw BenchError("--format is table or json") }
        isJSON = format == "json"
      case "--output": output = try value(word)
      case "--quick": isQuick = true
      case "--check": isCheck = true
      case "--update": isUpdate = true
      default: throw BenchError("unknown option '\(word)'")
      }
    }
    if isUpdate && !isCheck { throw BenchError("--update goes with --check") }
  }

  /// - Parameter most: the limit for rows that take long, unless the user gave a number.
  func rounds(atMost most: Int = 5) -> Int { rounds ?? min(isQuick ? 2 : 5, most) }

  /// Whether a comparison begins another round.
  ///
  /// - Parameters:
  ///   - done: the rounds that count so far.
  ///   - seconds: what it has taken.
  func goesOn(_ done: Int, after seconds: Double) -> Bool {
    if let rounds { return done < rounds }
    if done == 0 { return true }
    if isQuick { return done < 2 && seconds < 12 }
    return done < 3 && seconds < 75 || done < 5 && seconds < 40
  }

  func size(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }

  // MARK: The environment

  /// The environment passed to the bench.
  static let environment: [String: String] = {
    let text = (try? Files.text("/proc/self/environ")) ?? ""
    var variables: [String: String] = [:]
    for entry in text.split(separator: "\0") {
      guard let sign = entry.firstIndex(of: "=") else { continue }
      variables[String(entry[..<sign])] = String(entry[entry.index(after: sign)...])
    }
    return variables
  }()

  static let projectFolder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
    .joined(separator: "/")

  static let benchmarks = projectFolder + "/Tests/Benchmarks"

  static let binaries = absolute(environment["SLUICE_BIN_DIR"] ?? projectFolder + "/.build/release")

  static let corpus =
    absolute(environment["SLUICE_CORPUS"] ?? projectFolder + "/../shared/corpus") + "/pdf-valid"

  static func absolute(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The path of a program in the search path.
  static func program(_ name: String, besides more: [String] = []) -> String? {
    ((environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map(String.init) + more)
      .map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }
}

/// Reports progress on standard error.
func progress(_ text: String) {
  let bytes = Array("bench: \(text)\n".utf8)
  _ = write(STDERR_FILENO, bytes, bytes.count)
}
