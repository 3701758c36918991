import LedgerPort
import Platform

// Common parts of the description of routes (OpenAPI 3.1.0).
extension Route {
  static let textSchema = #"{"type":"string"}"#
  /// Of a member that may be left out: null stands for that.
  static let optionalText = #"{"type":["string","null"]}"#
  static let textsSchema = #"{"type":"array","items":{"type":"string"}}"#
  static let bytes = #"{"type":"integer","minimum":0}"#

  // MARK: Answers

  static func answer(_ schema: String, _ description: String) -> String {
    ##"{"description":"\##(description)","content":{"application/json":{"schema":{"$ref":"#/components/schemas/\##(schema)"}}}}"##
  }

  static func answer(type: String, _ description: String) -> String {
    #"{"description":"\#(description)","content":{"\#(type)":{"schema":{"type":"string"}}}}"#
  }

  static func empty(_ description: String) -> String { #"{"description":"\#(description)"}"# }

  static func content(_ description: String) -> String {
    #"{"description":"\#(description)","content":{"*/*":{"schema":{}}}}"#
  }

  static let whetherChanged = [(200, answer("Changed", "whether there was anything to change"))]
  static let howMuchChanged = [(200, answer("Changes", "how much was changed, and whether there is more"))]

  // MARK: Bodies

  /// An object with these members and no others.
  static func json(_ properties: String, required: [String] = []) -> String {
    let required = required.isEmpty ? "" : #""required":\#(JSONWriter.array(of: required)),"#
    return #"{"required":true,"content":{"application/json":{"schema":{"type":"object",\#(required)"#
      + #""additionalProperties":false,"properties":{\#(properties)}}}}}"#
  }

  static let pointer = json(
    #""number":{"type":"integer","minimum":0},"senderId":\#(optionalText)"#, required: ["number"])

  static let contentBody =
    #"{"description":"The content, which is empty without a body.","content":{"#
    + #""application/octet-stream":{"schema":{}},"multipart/form-data":{"schema":"#
    + #"{"type":"object","required":["file"],"properties":{"file":{"type":"string","format":"binary"}}}}}}"#

  // MARK: Fields

  static func header(_ name: String, _ schema: String, isRequired: Bool = false) -> String {
    #"{"name":"\#(name)","in":"header","required":\#(isRequired),"schema":\#(schema)}"#
  }

  static let digests = ["Content-Digest", "Repr-Digest"].map { header($0, textSchema) }

  static func tusVersion(_ isRequired: Bool) -> String {
    #"{"name":"Tus-Resumable","in":"header","required":\#(isRequired),"schema":{"type":"string"},"example":"1.0.0"}"#
  }

  /// Of the IETF's draft, where it is spoken.
  static func draft(_ isSpoken: Bool) -> [String] {
    if !isSpoken { return [] }
    let versions = UploadDraft.versions
    return [
      header("Upload-Complete", #"{"enum":["?0","?1"]}"#),
      header(
        "Upload-Draft-Interop-Version",
        #"{"type":"integer","minimum":\#(versions.lowerBound),"maximum":\#(versions.upperBound)}"#),
    ]
  }
}
