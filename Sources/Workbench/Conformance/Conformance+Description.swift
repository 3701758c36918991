import Configuration
import Glibc
import Pipeline
import Platform
import Workers

// Checks of a plugin before it gets any content.
extension Conformance {
  func description() -> Check.Result {
    let problems = DescriptionCheck.problems(stage.description)
    guard problems.isEmpty else {
      return .failed(
        problems.joined(separator: "\n"),
        remedy: "correct the description: users meet it in errors, help and docs")
    }
    let again = search.describe([(stage.description.id, stage.description.file)])[stage.description.id]
    guard case .success(let second)? = again, second == stage.description else {
      return .failed(
        "asked twice, it describes itself differently", remedy: "make the description of constants only")
    }
    return .passed
  }

  func documented() -> Check.Result {
    guard let documentation else {
      return .skipped("there is no README.md beside it; name one with --docs FILE")
    }
    if let section = StageReference.section(of: documentation),
      section != StageReference(stage.description).markdown
    {
      return .failed(
        "what stands between the marks of `stages inspect` is not what it prints",
        remedy: "put the output of `sluice stages inspect \(stage.description.file) --format markdown` there")
    }
    let terms =
      stage.description.options.map { ("option", $0.name) } + stage.description.keys.map { ("key", $0.name) }
      + stage.description.codes.map { ("code", $0.name) }
    let missing = terms.filter { !documentation.contains("`\($0.1)`") }.map { "\($0.0) `\($0.1)`" }
    return missing.isEmpty
      ? .passed
      : .failed(
        "not in the documentation: \(missing.joined(separator: ", "))",
        remedy: "name each in the README, between backticks, with what it means")
  }

  /// Calls the plugin with another major version. It may return nothing or its description.
  func abi() -> Check.Result {
    let id = stage.description.id
    for major in [UInt32(0), 2, 999, .max] {
      switch search.describe([(id, stage.description.file)], major: major)[id] {
      case .success?: continue
      case .failure(let refusal)?:
        if refusal.message.contains("gives no description") { continue }
        return .failed(
          "asked as ABI major \(major): \(refusal.message)",
          remedy:
            "return the description as it is, with the SLUICE_ABI_MAJOR of the header it was built with, or NULL"
        )
      case nil:
        return .failed("asked as ABI major \(major), it is silent", remedy: "return a description, or NULL")
      }
    }
    return .passed
  }

  func opens() throws -> Check.Result {
    let trier = try bench()
    do throws(WorkbenchError) {
      try trier.open()
    } catch {
      if error.code == .interrupted { throw error }
      return .failed(
        error.description,
        remedy: isProgram
          ? "let it say {\"ready\": true}, or {\"refuse\": \"WHY\"} where its options cannot be used"
          : "load what it needs in `open`, and start no thread there")
    }
    if isProgram { return .passed }
    let threads = trier.pid.flatMap { ProcessFacts.count("/proc/\($0)/task") } ?? 1
    return threads == 1
      ? .passed
      : .failed(
        "\(threads) threads run when it is open",
        remedy: "start none: the sandbox, which closes then, would not hold it")
  }

  /// Tries each option by itself: the ends of its range, each of its choices, long texts, long lists.
  func options() throws -> Check.Result {
    try watchNames()
    if stage.description.options.isEmpty { return .skipped("it has none") }
    for option in stage.description.options {
      for values in OptionSamples.values(option) {
        var changed = stage
        changed.values.removeAll { $0.name == option.name }
        changed.values += values
        let shown = "\(option.name)=\(values.map(\.text).joined(separator: ", ").prefix(60))"
        let trier = try bench(changed)
        do throws(WorkbenchError) {
          try trier.open()
        } catch {
          if error.code == .interrupted { throw error }
          if let death = error.death { throw UnexpectedEnd(death: death, what: "opened with \(shown)") }
          // A refusal with a reason is fine. One without is not.
          if error.code == .refused && !error.description.hasSuffix(": the stage does not open") { continue }
          return .failed(
            "\(shown): \(error)",
            remedy: "refuse values that cannot be used with a sentence that says why, through "
              + (isProgram ? "{\"refuse\": \"WHY\"}" : "`explain`"))
        }
      }
    }
    return .passed
  }

  /// Opens the stage once in a worker that notices the names it looks for among its options. One that it does
  /// not declare is a complaint, which the check `declared` tells.
  private func watchNames() throws {
    let trier = try bench { $0.watchesNames = true }
    do throws(WorkbenchError) {
      try trier.open()
    } catch {
      if error.code == .interrupted { throw error }
      // It is handed an option of a strange name, and may refuse that in any way.
    }
  }

  func reopens() throws -> Check.Result {
    let count: UInt32 = 100
    let trier = try bench { $0.trialOpenings = count }
    let what = "opened and closed \(count) times"
    do throws(WorkbenchError) {
      try trier.open()
    } catch {
      if error.code == .interrupted { throw error }
      if let death = error.death { throw UnexpectedEnd(death: death, what: what) }
      return .failed(
        "\(what): \(error)",
        remedy: isProgram
          ? "let it end when its standard input does, and start each time as the first time"
          : "let `close` give back all that `open` took")
    }
    if isProgram { return .passed }
    guard let leak = trier.bench.runner.ready?.leaked else { return .skipped("the worker did not tell") }
    let perOpening = leak.bytes / Int64(count - count / 4)
    if leak.descriptors > 0 {
      return .failed(
        "\(Count.text(leak.descriptors, "descriptor")) \(leak.descriptors == 1 ? "stays" : "stay") open after \(count) times",
        remedy:
          "close in `close` what `open` opens; in Swift, in the `deinit` of a class that the stage holds")
    }
    if perOpening > Self.leakLimit {
      return .failed(
        "each time leaves \(Count.text(perOpening, "byte")) on the heap",
        remedy:
          "free in `close` what `open` allocates; in Swift, in the `deinit` of a class that the stage holds")
    }
    return .passed
  }

  /// Heap growth per opening, in bytes, above which a stage is reported to leak. Libraries keep a little.
  private static let leakLimit: Int64 = 16
}
