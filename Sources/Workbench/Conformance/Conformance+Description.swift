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
      return .skipped("there is no README.md beside the plugin; name one with --docs FILE")
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
      try trier.bench.runner.start()
    } catch {
      return .failed(error.description, remedy: "load what it needs in `open`, and start no thread there")
    }
    let threads = trier.pid.flatMap { ProcessFacts.count("/proc/\($0)/task") } ?? 1
    return threads == 1
      ? .passed
      : .failed(
        "\(threads) threads run when it is open",
        remedy: "start none: the sandbox, which closes then, would not hold it")
  }

  /// Tries each option by itself: the ends of its range, each of its choices, long texts, long lists.
  func options() throws -> Check.Result {
    if stage.description.options.isEmpty { return .skipped("it has none") }
    for option in stage.description.options {
      for values in OptionSamples.values(option) {
        var changed = stage
        changed.values.removeAll { $0.name == option.name }
        changed.values += values
        let shown = values.map(\.text).joined(separator: ", ")
        let trier = try bench(changed)
        do throws(WorkbenchError) {
          try trier.bench.runner.start()
        } catch {
          // A refusal with a reason is fine. A worker's death or a refusal without a reason is not.
          if error.code == .refused && !error.description.hasSuffix(": the stage does not open") { continue }
          return .failed(
            "\(option.name)=\(shown.prefix(60)): \(error)",
            remedy: error.code == .refused
              ? "refuse values that cannot be used with a sentence that says why, through `explain`"
              : "look with `sluice stages run \(stage.description.file) FILE --set \(option.name)=… --under gdb`"
          )
        }
      }
    }
    return .passed
  }

  func reopens() throws -> Check.Result {
    let count: UInt32 = 100
    let trier = try bench { $0.trialOpenings = count }
    do throws(WorkbenchError) {
      try trier.bench.runner.start()
    } catch {
      return .failed(
        "opened and closed \(count) times: \(error)",
        remedy:
          "let `close` give back all that `open` took; if it crashes, look with `stages run` and --under gdb")
    }
    guard let leak = trier.bench.runner.ready?.leaked else { return .skipped("the worker did not tell") }
    let perOpening = leak.bytes / Int64(count - count / 4)
    if leak.descriptors > 0 {
      return .failed(
        "\(Count.text(leak.descriptors, "descriptor")) \(leak.descriptors == 1 ? "stays" : "stay") open after \(count) times",
        remedy: "close in `close` what `open` opens")
    }
    if perOpening > Self.leakLimit {
      return .failed(
        "each time leaves \(Count.text(perOpening, "byte")) on the heap",
        remedy: "free in `close` what `open` allocates")
    }
    return .passed
  }

  /// Heap growth per opening, in bytes, above which a stage is reported to leak. Libraries keep a little.
  private static let leakLimit: Int64 = 16
}

/// Values to try for an option: allowed ones, at the edges.
enum OptionSamples {
  static func values(_ option: OptionDescription) -> [[OptionValue]] {
    let texts = self.texts(option)
    var samples: [[OptionValue]] = []
    if option.shapes.contains(.one) { samples += texts.compactMap { value(option, $0).map { [$0] } } }
    if option.shapes.contains(.list) {
      samples.append((0..<100).compactMap { value(option, texts[$0 % texts.count]) })
    }
    if option.shapes.contains(.map) {
      let patterns = ["application/pdf", "image/*", "*/*"]
      samples.append(patterns.enumerated().compactMap { value(option, texts[$0 % texts.count], key: $1) })
    }
    return samples
  }

  private static func value(_ option: OptionDescription, _ text: String, key: String? = nil) -> OptionValue? {
    OptionValue(name: option.name, key: key, text: text, kind: option.kind)
  }

  private static func texts(_ option: OptionDescription) -> [String] {
    if !option.choices.isEmpty { return option.choices }
    switch option.kind {
    case .text: return ["", "x", "../..", "%s%n", String(repeating: "long ", count: 800), "漢字\u{202E}"]
    case .integer:
      let range = option.range ?? 0...Int64.max
      return [String(range.lowerBound), String(range.upperBound)]
    case .number: return ["0", "-1", "1e308", "0.5"]
    case .boolean: return ["true", "false"]
    case .bytes:
      let range = option.range ?? 0...(1 << 40)
      return ["\(max(range.lowerBound, 0))B", "\(max(range.upperBound, 0))B"]
    case .duration:
      let range = option.range ?? 0...86_400_000
      return ["\(max(range.lowerBound, 0))ms", "\(max(range.upperBound, 0))ms"]
    case .mediaType: return ["*/*", "image/*", "application/pdf"]
    case .template: return ["{sha256}", "documents/{conversationId}/{messageId}/{fileName}"]
    case .file: return ["a-file", "a file with a name that is rather long"]
    case .channelName: return ["events", "a-channel-with-a-name-that-is-rather-long"]
    }
  }
}
