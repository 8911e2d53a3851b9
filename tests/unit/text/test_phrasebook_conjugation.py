"""French verbs against tables that any grammar book holds."""

import pytest

from glassformer.text.phrasebook.conjugation import agree, conjugate

PRESENT = {
    "être": "suis es est sommes êtes sont",
    "avoir": "ai as a avons avez ont",
    "aller": "vais vas va allons allez vont",
    "faire": "fais fais fait faisons faites font",
    "dire": "dis dis dit disons dites disent",
    "contredire": "contredis contredis contredit contredisons contredisez contredisent",
    "voir": "vois vois voit voyons voyez voient",
    "devoir": "dois dois doit devons devez doivent",
    "pouvoir": "peux peux peut pouvons pouvez peuvent",
    "vouloir": "veux veux veut voulons voulez veulent",
    "savoir": "sais sais sait savons savez savent",
    "recevoir": "reçois reçois reçoit recevons recevez reçoivent",
    "asseoir": "assieds assieds assied asseyons asseyez asseyent",
    "prendre": "prends prends prend prenons prenez prennent",
    "comprendre": "comprends comprends comprend comprenons comprenez comprennent",
    "mettre": "mets mets met mettons mettez mettent",
    "boire": "bois bois boit buvons buvez boivent",
    "croire": "crois crois croit croyons croyez croient",
    "lire": "lis lis lit lisons lisez lisent",
    "écrire": "écris écris écrit écrivons écrivez écrivent",
    "rire": "ris ris rit rions riez rient",
    "suivre": "suis suis suit suivons suivez suivent",
    "vivre": "vis vis vit vivons vivez vivent",
    "connaître": "connais connais connaît connaissons connaissez connaissent",
    "venir": "viens viens vient venons venez viennent",
    "tenir": "tiens tiens tient tenons tenez tiennent",
    "partir": "pars pars part partons partez partent",
    "sentir": "sens sens sent sentons sentez sentent",
    "dormir": "dors dors dort dormons dormez dorment",
    "servir": "sers sers sert servons servez servent",
    "courir": "cours cours court courons courez courent",
    "mourir": "meurs meurs meurt mourons mourez meurent",
    "ouvrir": "ouvre ouvres ouvre ouvrons ouvrez ouvrent",
    "offrir": "offre offres offre offrons offrez offrent",
    "cueillir": "cueille cueilles cueille cueillons cueillez cueillent",
    "peindre": "peins peins peint peignons peignez peignent",
    "rejoindre": "rejoins rejoins rejoint rejoignons rejoignez rejoignent",
    "plaindre": "plains plains plaint plaignons plaignez plaignent",
    "conduire": "conduis conduis conduit conduisons conduisez conduisent",
    "coudre": "couds couds coud cousons cousez cousent",
    "résoudre": "résous résous résout résolvons résolvez résolvent",
    "traire": "trais trais trait trayons trayez traient",
    "interrompre": "interromps interromps interrompt interrompons interrompez interrompent",
    "vendre": "vends vends vend vendons vendez vendent",
    "finir": "finis finis finit finissons finissez finissent",
    "parler": "parle parles parle parlons parlez parlent",
    "manger": "mange manges mange mangeons mangez mangent",
    "commencer": "commence commences commence commençons commencez commencent",
    "acheter": "achète achètes achète achetons achetez achètent",
    "lever": "lève lèves lève levons levez lèvent",
    "appeler": "appelle appelles appelle appelons appelez appellent",
    "jeter": "jette jettes jette jetons jetez jettent",
    "préférer": "préfère préfères préfère préférons préférez préfèrent",
    "protéger": "protège protèges protège protégeons protégez protègent",
    "sécher": "sèche sèches sèche séchons séchez sèchent",
    "payer": "paie paies paie payons payez paient",
    "essuyer": "essuie essuies essuie essuyons essuyez essuient",
    "nettoyer": "nettoie nettoies nettoie nettoyons nettoyez nettoient",
    "envoyer": "envoie envoies envoie envoyons envoyez envoient",
    "créer": "crée crées crée créons créez créent",
    "étudier": "étudie étudies étudie étudions étudiez étudient",
}

REST = """
être      étions       serons      été       soyez
avoir     avions       aurons      eu        ayez
aller     allions      irons       allé      allez
faire     faisions     ferons      fait      faites
dire      disions      dirons      dit       dites
voir      voyions      verrons     vu        voyez
prévoir   prévoyions   prévoirons  prévu     prévoyez
devoir    devions      devrons     dû        devez
pouvoir   pouvions     pourrons    pu        pouvez
vouloir   voulions     voudrons    voulu     veuillez
savoir    savions      saurons     su        sachez
recevoir  recevions    recevrons   reçu      recevez
asseoir   asseyions    assiérons   assis     asseyez
prendre   prenions     prendrons   pris      prenez
mettre    mettions     mettrons    mis       mettez
boire     buvions      boirons     bu        buvez
croire    croyions     croirons    cru       croyez
lire      lisions      lirons      lu        lisez
écrire    écrivions    écrirons    écrit     écrivez
rire      riions       rirons      ri        riez
suivre    suivions     suivrons    suivi     suivez
vivre     vivions      vivrons     vécu      vivez
connaître connaissions connaîtrons connu     connaissez
naître    naissions    naîtrons    né        naissez
venir     venions      viendrons   venu      venez
tenir     tenions      tiendrons   tenu      tenez
partir    partions     partirons   parti     partez
dormir    dormions     dormirons   dormi     dormez
servir    servions     servirons   servi     servez
courir    courions     courrons    couru     courez
mourir    mourions     mourrons    mort      mourez
ouvrir    ouvrions     ouvrirons   ouvert    ouvrez
offrir    offrions     offrirons   offert    offrez
cueillir  cueillions   cueillerons cueilli   cueillez
peindre   peignions    peindrons   peint     peignez
conduire  conduisions  conduirons  conduit   conduisez
coudre    cousions     coudrons    cousu     cousez
résoudre  résolvions   résoudrons  résolu    résolvez
vendre    vendions     vendrons    vendu     vendez
finir     finissions   finirons    fini      finissez
manger    mangions     mangerons   mangé     mangez
commencer commencions  commencerons commencé commencez
acheter   achetions    achèterons  acheté    achetez
appeler   appelions    appellerons appelé    appelez
jeter     jetions      jetterons   jeté      jetez
préférer  préférions   préférerons préféré   préférez
payer     payions      paierons    payé      payez
essuyer   essuyions    essuierons  essuyé    essuyez
envoyer   envoyions    enverrons   envoyé    envoyez
étudier   étudiions    étudierons  étudié    étudiez
"""


@pytest.mark.parametrize("infinitive", PRESENT)
def test_the_present_is_that_of_the_grammar_books(infinitive: str) -> None:
    assert " ".join(conjugate(infinitive).present) == PRESENT[infinitive]


@pytest.mark.parametrize("line", REST.strip().splitlines())
def test_the_other_tenses_are_those_of_the_grammar_books(line: str) -> None:
    infinitive, imperfect, future, participle, imperative = line.split()
    found = conjugate(infinitive)

    assert (found.imperfect[3], found.future[3]) == (imperfect, future)
    assert (found.participle, found.imperative[2]) == (participle, imperative)
    assert found.conditional[3] == future.removesuffix("ons") + "ions"


def test_g_and_c_stay_soft_in_the_imperfect() -> None:
    assert conjugate("manger").imperfect == (
        "mangeais",
        "mangeais",
        "mangeait",
        "mangions",
        "mangiez",
        "mangeaient",
    )
    assert conjugate("commencer").imperfect[2] == "commençait"


def test_an_aspirated_verb_keeps_its_mark_in_every_form() -> None:
    assert conjugate("*hurler").present[2] == "*hurle"
    assert conjugate("*hurler").participle == "*hurlé"


def test_tu_loses_its_s_in_the_imperative_of_er_verbs_only() -> None:
    assert [conjugate(verb).imperative[0] for verb in ("parler", "ouvrir", "finir", "aller")] == [
        "parle",
        "ouvre",
        "finis",
        "va",
    ]


def test_participles_agree() -> None:
    assert [agree("vu", g, n) for g, n in (("m", False), ("f", False), ("m", True), ("f", True))] == [
        "vu",
        "vue",
        "vus",
        "vues",
    ]
    assert (agree("pris", "m", True), agree("pris", "f", True)) == ("pris", "prises")
    assert agree("dû", "f", False) == "due"
