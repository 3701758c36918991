import Glibc
import LedgerPort
import Objects
import Pipeline
import Platform

/// What `sluice verify` prints.
struct VerifyReport {
  var totals = Verification.Totals()
  /// Rows with values that are sealed with each key, by its id.
  var sealed: [String: Int64] = [:]
  private var found: Int64 = 0
  private var repaired: Int64 = 0
  private let isJSON: Bool
  private let isQuiet: Bool
  private let style: Style
  private var progress: ProgressBar?

  init(_ arguments: ParsedArguments) {
    isJSON = arguments.isJSON
    isQuiet = arguments.flag("quiet")
    style = Style(arguments)
  }

  /// - Parameter total: the number of objects to check.
  mutating func begin(total: Int64) {
    if !isQuiet && Terminal.isTerminal(STDERR_FILENO) { progress = ProgressBar(total: total) }
  }

  mutating func looked(_ bytes: Int64) {
    progress?.add(bytes: bytes)
    progress?.draw()
  }

  mutating func take(_ finding: Finding) {
    found += 1
    if finding.repair != nil { repaired += 1 }
    progress?.clear()
    Terminal.out(isJSON ? Self.json(finding) : text(finding))
  }

  mutating func note(_ text: String) {
    progress?.clear()
    Terminal.error(text)
  }

  mutating func finish(seconds: Double, isRepair: Bool) -> ExitCode {
    progress?.clear()
    if isJSON {
      Terminal.out(summaryJSON(seconds))
    } else if !isQuiet {
      Terminal.out(summary(seconds, isRepair))
    }
    return found == repaired ? .success : .incomplete
  }

  // MARK: For people

  private func text(_ finding: Finding) -> String {
    let word = finding.repair == nil ? "wrong" : "mended"
    return "\(style.word(word, width: 7))  \(Terminal.printable(finding.place))\n"
      + "         \(finding.code): \(Terminal.printable(finding.message))\n"
      + "         \(Terminal.printable(finding.repair ?? finding.remedy))\n"
  }

  private func summary(_ seconds: Double, _ isRepair: Bool) -> String {
    var text =
      "\(Count.text(totals.objects, "object")), \(totals.read) of them read: \(ByteSize.rounded(totals.bytes))"
    text += " in \(Decimal.text(seconds, 2)) s; "
    text += found == 0 ? "nothing is wrong" : Count.text(found, "finding")
    if isRepair && found > 0 { text += ", \(repaired) of them mended" }
    if totals.queued > 0 {
      let verb = totals.queued == 1 ? "is" : "are"
      text += "; \(Count.text(totals.queued, "attachment")) \(verb) to be stored anew by `sluice ingest`"
    }
    if sealed.count > 1 {
      let rows = sealed.sorted { $0.key < $1.key }.map {
        "\(Count.text($0.value, "row")) with the key \($0.key)"
      }
      text += "; sealed are \(rows.joined(separator: ", ")): `sluice rekey` seals all with the newest"
    }
    return text + "\n"
  }

  // MARK: For programs

  private static func json(_ finding: Finding) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "finding")
      writer.member("code", finding.code)
      writer.member("place", finding.place)
      writer.member("message", finding.message)
      writer.member("remedy", finding.remedy)
      writer.member("repair", finding.repair)
    }
    return writer.text + "\n"
  }

  private func summaryJSON(_ seconds: Double) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "verification")
      writer.key("ok")
      writer.value(found == repaired)
      writer.member("objects", totals.objects)
      writer.member("read", totals.read)
      writer.member("sizeBytes", totals.bytes)
      writer.member("findings", found)
      writer.member("repaired", repaired)
      writer.member("queued", totals.queued)
      writer.key("sealedRows")
      writer.object { writer in
        for (id, rows) in sealed.sorted(by: { $0.key < $1.key }) { writer.member(id, rows) }
      }
      writer.key("seconds")
      writer.value((seconds * 1000).rounded() / 1000)
    }
    return writer.text + "\n"
  }
}
