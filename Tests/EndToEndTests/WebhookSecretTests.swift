import Foundation
import Testing

/// A user whose webhook has no secret is told what a secret is and how to make one.
struct WebhookSecretTests {
  private func told(_ options: String, environment: [String: String] = [:]) throws -> String {
    let folder = try TemporaryFolder()
    try folder.write("a.txt", "a text\n")
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages: [{ use: mime }, { use: notify, options: { channels: [hook] } }]
      channels:
        hook: { use: webhook, options: { url: "https://hooks.example/", \(options) } }
      """)
    let outcome = try SluiceCommand.run(
      ["ingest", "--sender", "ann", "--participants", "ann,ben", "a.txt"], in: folder,
      environment: environment)
    #expect(outcome.status == 78)
    return outcome.err
  }

  static let form =
    "`whsec_` and base64 of 24 to 64 bytes; make one with `echo whsec_$(openssl rand -base64 32)`. Two while one "
    + "replaces the other"

  @Test func aSecretThatIsMissing() throws {
    #expect(
      try told("timeout: 5s")
        == "pipeline.yaml:4:16: channel 'webhook' needs its option 'secrets'; add 'secrets: …' under 'options' "
        + "(\(Self.form))\n")
  }

  @Test(arguments: ["\"${WEBHOOK_SECRET}\"", "[\"${WEBHOOK_SECRET}\"]"])
  func aVariableThatIsNotSet(value: String) throws {
    let said = try told("secrets: \(value)")
    #expect(
      said.hasSuffix(
        ": environment variable 'WEBHOOK_SECRET' is not set; set it, or give a default: "
          + "'${WEBHOOK_SECRET:-default}'; it is for option 'secrets' (\(Self.form))\n"), "\(said)")
  }

  static let mistakes: [(String, String)] = [
    ("", "the secret does not begin with whsec_"), ("0b7e9d", "the secret does not begin with whsec_"),
    ("whsec_abc", "after whsec_, the secret is not base64 with its padding"),
    ("whsec_YQ==", "the secret has 1 byte, and 24 to 64 are asked for"),
  ]

  @Test(arguments: mistakes)
  func aSecretThatIsNone(secret: String, says: String) throws {
    let said = try told("secrets: \"${WEBHOOK_SECRET:-}\"", environment: ["WEBHOOK_SECRET": secret])
    #expect(
      said
        == "sluice: channel 'hook': secrets: \(says); make one with `echo whsec_$(openssl rand -base64 32)`\n",
      "\(said)")
  }
}
