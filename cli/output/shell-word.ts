/** Quotes a word for a shell if needed. A pure function. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
