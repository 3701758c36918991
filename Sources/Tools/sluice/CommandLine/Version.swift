import Platform

/// `sluice version`: what this is, for bug reports and scripts.
struct Version: ParsableCommand {
  static let number = "0.1.0"
  /// The version of the contract with stages: `SLUICE_ABI_MAJOR` and `SLUICE_ABI_MINOR` in its header; a test
  /// compares them.
  static let stageABI = "1.1"

  static let configuration = CommandConfiguration(
    name: "version", abstract: "Say which version this is.", options: [.format], example: "sluice version")

  private let isJSON: Bool

  init(_ arguments: ParsedArguments) throws(CommandError) {
    try arguments.expectNoWords()
    isJSON = arguments.isJSON
  }

  func run() -> ExitCode {
    if isJSON {
      var writer = JSONWriter()
      writer.object { writer in
        writer.member("record", "version")
        writer.member("version", Self.number)
        writer.member("stageABI", Self.stageABI)
      }
      Terminal.out(writer.text + "\n")
    } else {
      Terminal.out("sluice \(Self.number) (stage ABI \(Self.stageABI))\n")
    }
    return .success
  }
}
