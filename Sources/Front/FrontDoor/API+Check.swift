import CPlatform
import FrontWire
import Glibc
import LedgerPort
import Pipeline
import Platform
import Scheduler

// A content in, what the pipeline says of it out; nothing is kept.
extension API {
  func check(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    let known = Route.check.parameters.map(\.name)
    if let other = request.query.first(where: { !known.contains($0.name) }) {
      throw Problem.noSuchParameter(other.name, .check)
    }
    func parameter(_ name: String) -> String? {
      request.query.first { $0.name == name && !$0.value.isEmpty }?.value
    }
    let isForm = Self.isForm(request)
    try Self.checkBody(of: request)
    let checksum = try Tus.checksum(request)
    let digest = checksum?.digest
    let name = parameter("filename")
    let field = isForm ? nil : request.field("content-type").flatMap { Self.anyType.contains($0) ? nil : $0 }
    let type = parameter("filetype") ?? field
    let rules = rules
    /// As for an upload that calls itself so. What a form says comes with its body.
    @Sendable func limit(_ name: String?, _ type: String?) -> Int64 {
      var item = IntakeItem()
      (item.fileName, item.declaredType) = (name ?? "content", type)
      return rules.longest(item)
    }
    let longest = isForm ? rules.longest : limit(name, type)
    if case .length(let count) = request.body, count > longest + (isForm ? Self.formRoom : 0) {
      throw Self.tooLarge(longest)
    }
    if !uploads.hasRoom { throw Self.full }
    let number = uploads.unnamedFile()
    if number < 0 { throw Self.full }
    let file = SharedDescriptor(Descriptor(owning: number))
    let order = StoreOrder(
      offset: 0, limit: longest, digest: checksum?.algorithm, isForm: isForm, isSynced: false)
    return .check(order, file, token) { stored in
      if let problem = Self.fault(of: stored, tooLong: Self.tooLarge(longest)) { throw problem }
      if stored.isMalformed { throw Self.noForm }
      let most = limit(name ?? stored.form.fileName, type ?? stored.form.contentType)
      if stored.bytes > most { throw Self.tooLarge(most) }
      if let digest, stored.digest != digest { throw Self.otherChecksum }
      return Check(
        file, fileName: name ?? stored.form.fileName ?? "content",
        declaredType: type ?? stored.form.contentType, owner: token.role == .user ? token.name : nil)
    }
  }

  static func judgement(_ result: CheckResult, isForUser: Bool) -> FrontReply {
    var writer = JSONWriter()
    writer.object { result.write(to: &$0, isForUser: isForUser) }
    return json(writer.text)
  }
}
