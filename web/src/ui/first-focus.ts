/**
 * Gives the focus to where the work in a dialog begins: the first field that must be filled and is not, else the first field, else the first
 * of its buttons below, else the first thing in it that can be pressed. Returns whether there is any of these.
 */
export function focusFirst(place: EventTarget | null): boolean {
  if (!(place instanceof Element)) return false
  const fields = [...place.querySelectorAll<FormField>(FIELDS)].filter((field) => field.checkVisibility())
  const first =
    fields.find((field) => field.required && field.value === '') ??
    fields[0] ??
    place.querySelector<HTMLElement>(DIALOG_BUTTONS) ??
    place.querySelector<HTMLElement>(BODY_CONTROLS)
  first?.focus()
  return first !== null
}

/** Gives the focus to a form that has come into a dialog that was open before, unless one of its fields has it. */
export function focusLate(form: HTMLElement | null): void {
  if (form?.closest('[role="dialog"]') && !form.contains(document.activeElement)) focusFirst(form)
}

type FormField = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const FIELDS = ':is(input:not([type="hidden"]), select, textarea):enabled'
/** In their order, of which the first takes nothing away. */
const DIALOG_BUTTONS = '.dialog-buttons button, form > :last-child:has(> [type="submit"]) > button'
const BODY_CONTROLS = '.dialog-body :is(button:enabled, a[href])'
