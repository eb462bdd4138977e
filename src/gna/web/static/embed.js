/* Gna's sign-up form for any website: <gna-subscribe></gna-subscribe>. No cookies, no tracking. */
(() => {
  const NAME = "gna-subscribe";
  if (customElements.get(NAME)) return;

  // A script knows its own address only while it first runs.
  const HOME = new URL(document.currentScript?.src || location).origin;

  const EN = {
    heading: "Subscribe by email",
    email: "Email",
    nickname: "Name",
    optional: "optional",
    button: "Subscribe",
    busy: "One moment…",
    done: "Check your inbox",
    success: "If this address is not subscribed yet, a mail with a link is on its way. Open the link within 24 hours and you are in.",
    wait: (n) => `Too many tries. Please wait ${n > 1 ? n + " minutes" : "a minute"}, then try again`,
    failed: "It did not work. Nothing is lost: please try again in a minute",
  };
  const RO = {
    heading: "Abonare prin email",
    email: "Email",
    nickname: "Nume",
    optional: "opțional",
    button: "Mă abonez",
    busy: "O clipă…",
    done: "Verificați-vă căsuța de email",
    success: "Dacă adresa nu este încă abonată, un mesaj cu un link este deja pe drum. Deschideți linkul în următoarele 24 de ore și abonarea este gata.",
    wait: (n) => `Prea multe încercări. Așteptați ${n > 1 ? n + (n % 100 && n % 100 < 20 ? "" : " de") + " minute" : "un minut"}, apoi încercați din nou`,
    failed: "Nu a mers. Nimic nu este pierdut: încercați din nou peste un minut",
    "Email is required": "Adresa de email este obligatorie",
    "Email is not a valid address": "Adresa de email nu este validă",
    "Nickname must be 1–50 characters": "Numele trebuie să aibă între 1 și 50 de caractere",
    "Nickname contains characters that cannot be shown": "Numele conține caractere care nu pot fi afișate",
  };

  // Not a style element: the page's policy may forbid it.
  const style = new CSSStyleSheet();
  style.replaceSync(`
:host{--a:var(--gna-accent,light-dark(#3452c7,#93a7ff));--l:var(--gna-border,light-dark(#8b8478,#7d776d));--e:light-dark(#ad2320,#ff9b93);
--r:var(--gna-radius,6px);--g:var(--gna-gap,16px);display:block;box-sizing:border-box;max-width:440px;padding:calc(var(--g)*1.5);
border:1px solid color-mix(in srgb,var(--l) 35%,transparent);border-radius:min(var(--r) + 4px,16px);background:var(--gna-background,light-dark(#fff,#1b1a18));
color:var(--gna-text,light-dark(#1d1b18,#f1efeb));font-family:var(--gna-font,inherit);line-height:1.5}
:host([hidden]),[hidden],p:empty{display:none!important}
form,div{display:grid;gap:var(--g)}
div{gap:6px}
p{margin:0}
b{font-size:1.25em}
[part=text],small{color:var(--gna-muted,light-dark(#5f594f,#b1aaa0))}
label{font-weight:500}
input,button{box-sizing:border-box;width:100%;min-height:44px;padding:8px 12px;border:1px solid var(--l);border-radius:var(--r);background:none;color:inherit;font:inherit;font-size:max(1em,16px)}
[aria-invalid]{border-color:var(--e)}
button{display:grid;place-items:center;border-color:var(--a);background:var(--a);color:var(--gna-accent-text,light-dark(#fff,#10142b));font-weight:600;cursor:pointer}
button:hover{filter:brightness(1.08)}
span{grid-area:1/1}
[aria-disabled]{cursor:progress}
[aria-disabled] :first-child,:not([aria-disabled])>span+span{visibility:hidden}
:focus-visible{outline:2px solid var(--a);outline-offset:2px}
[part=error]{color:var(--e)}`);

  const make = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    node.append(...children);
    return node;
  };
  const complaint = (id) => make("p", { part: "error", role: "alert", id });
  const field = (name, type, maxlength) => {
    const error = complaint("e-" + name);
    const label = make("label", { part: "label", for: name });
    const input = make("input", { part: "input", id: name, name, type, maxlength, autocomplete: name, "aria-describedby": error.id });
    return { label, input, error, box: make("div", { part: "field" }, label, input, error) };
  };

  // Fills one element's shadow; what it returns writes every text anew and leaves alone what was typed.
  const build = (host) => {
    let words;
    const heading = make("b", { part: "heading", id: "heading" });
    const text = make("p", { part: "text" });
    const email = field("email", "email", 254);
    const nickname = field("nickname", "text", 50);
    const general = complaint("e");
    const button = make("button", { part: "button" }, make("span"), make("span"));
    const form = make("form", { part: "form", novalidate: "", "aria-labelledby": "heading" }, heading, text, email.box, nickname.box, general, button);
    const message = make("div", { part: "message", role: "status", tabindex: -1, hidden: "" });
    const root = host.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [style];
    root.append(form, message);
    email.input.required = true;

    const tell = (name, detail) => host.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, detail }));

    const refuse = (status, reason) => {
      const at = [email, nickname].find(({ input }) => reason.toLowerCase().startsWith(input.name));
      (at?.error || general).textContent = (words[reason] || reason) + ".";
      at?.input.setAttribute("aria-invalid", "true");
      at?.input.focus();
      tell("gna-error", { status, reason });
    };

    // A site that is not in CORS_ORIGINS may not read an answer, but any site may send a form, which ends on a page of Gna.
    const submit = async (home) => {
      // Rejects where the server cannot be reached at all.
      await fetch(home + "/embed.js", { mode: "no-cors", credentials: "omit", cache: "no-store" });
      console.warn(`<${NAME}>: name ${location.origin} in CORS_ORIGINS of ${home}, and visitors stay on this page.`);
      document.addEventListener("securitypolicyviolation", () => refuse(0, words.failed), { once: true });
      form.method = "post";
      form.action = home + "/api/subscribe";
      form.submit();
    };

    const post = async (body) => {
      const home = (host.getAttribute("endpoint") || HOME).replace(/\/+$/, "");
      const answer = await fetch(home + "/api/subscribe", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        credentials: "omit",
        signal: AbortSignal.timeout(30000),
      }).catch((error) => {
        if (error.name !== "TypeError") throw error;
      });
      if (!answer) return submit(home);
      const { status } = answer;
      if (status === 429) return refuse(status, words.wait(Math.ceil((answer.headers.get("Retry-After") || 60) / 60)));
      if (!answer.ok) return refuse(status, (status === 400 && (await answer.json()).error) || words.failed);
      form.hidden = true;
      message.hidden = false;
      message.focus();
      tell("gna-subscribed");
    };

    form.onsubmit = async (event) => {
      event.preventDefault();
      if (button.hasAttribute("aria-disabled")) return;
      for (const { input, error } of [email, nickname]) {
        error.textContent = general.textContent = "";
        input.removeAttribute("aria-invalid");
      }
      const body = { email: email.input.value.trim() };
      if (!nickname.box.hidden) body.nickname = nickname.input.value.trim() || undefined;
      if (!body.email) return refuse(400, "Email is required");
      button.setAttribute("aria-disabled", "true");
      await post(body).catch(() => refuse(0, words.failed));
      button.removeAttribute("aria-disabled");
    };

    return () => {
      let at = host;
      while (at && !at.getAttribute("lang")) at = at.parentElement || at.getRootNode().host;
      const lang = /^ro\b/i.test(at?.getAttribute("lang") ?? navigator.language) ? "ro" : "en";
      const own = (name) => host.getAttribute(name) || words[name];
      words = lang === "ro" ? RO : EN;
      form.lang = message.lang = lang;
      heading.textContent = own("heading");
      text.textContent = own("text");
      email.label.textContent = words.email;
      nickname.label.replaceChildren(words.nickname, " ", make("small", {}, words.optional));
      nickname.box.hidden = !host.hasAttribute("nickname");
      button.firstChild.textContent = own("button");
      button.lastChild.textContent = words.busy;
      message.replaceChildren(make("b", {}, words.done), make("p", {}, own("success")));
    };
  };

  customElements.define(NAME, class extends HTMLElement {
    static observedAttributes = ["lang", "heading", "text", "button", "success", "nickname"];
    #label = build(this);
    connectedCallback() { this.#label() }
    attributeChangedCallback() { if (this.isConnected) this.#label() }
  });
})();
